/** Style sheets that an entry imports; the bundler puts them beside it. */
declare module '*.css';
