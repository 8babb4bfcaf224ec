import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  bounds,
  contains,
  isOrthogonal,
  labelPoint,
  nodeRect,
  roundedPath,
  route,
  routeVia,
  simplify,
  snap,
} from '../../../static/designer/model/geometry';
import { random } from './documents';

const A = nodeRect(0, 0);

describe('a line between two nodes', () => {
  test('is straight when they stand side by side', () => {
    assert.deepEqual(route(A, nodeRect(260, 0)), [
      { x: 172, y: 28 },
      { x: 260, y: 28 },
    ]);
  });

  test('turns once near the source when the target stands lower', () => {
    assert.deepEqual(route(A, nodeRect(260, 100)), [
      { x: 172, y: 28 },
      { x: 196, y: 28 },
      { x: 196, y: 128 },
      { x: 260, y: 128 },
    ]);
  });

  test('goes down when the target stands below', () => {
    assert.deepEqual(route(A, nodeRect(0, 100)), [
      { x: 86, y: 56 },
      { x: 86, y: 100 },
    ]);
  });

  test('goes back beside the way forward', () => {
    const forward = route(A, nodeRect(260, 0));
    const back = route(nodeRect(260, 0), A);
    assert.deepEqual(back, [
      { x: 260, y: 44 },
      { x: 172, y: 44 },
    ]);
    assert.notEqual(forward[0]?.y, back[0]?.y);
  });

  test('goes up in the middle, or beside the way down where there is one', () => {
    const below = nodeRect(0, 100);
    const xs = (facing: boolean) => route(below, A, 0, facing).map(({ x }) => x);
    assert.deepEqual(xs(false), [86, 86]);
    assert.deepEqual(xs(true), [102, 102]);
    assert.deepEqual(
      route(A, below, 0, true).map(({ x }) => x),
      [86, 86],
    );
  });

  test('leads from a node to itself around its corner', () => {
    assert.deepEqual(route(A, A), [
      { x: 172, y: 28 },
      { x: 196, y: 28 },
      { x: 196, y: -24 },
      { x: 86, y: -24 },
      { x: 86, y: 0 },
    ]);
  });

  test('lies apart from others between the same two', () => {
    const lanes = [0, 1, 2].map((lane) => route(A, nodeRect(260, 0), lane)[0]?.y);
    assert.deepEqual(lanes, [28, 38, 18]);
  });

  test('is orthogonal and touches its nodes only at their edge, wherever they stand', () => {
    const roll = random(7);
    for (let i = 0; i < 2000; i += 1) {
      const source = nodeRect(snap(roll() * 800), snap(roll() * 600));
      const target = nodeRect(snap(roll() * 800), snap(roll() * 600));
      const points = route(source, target, Math.floor(roll() * 3));
      assert.ok(isOrthogonal(points), JSON.stringify({ source, target, points }));
      assert.ok(points.length >= 2);
      assert.ok(!contains(source, points[0] as never), 'starts on the edge');
      assert.ok(!contains(target, points.at(-1) as never), 'ends on the edge');
    }
  });
});

describe('a line over bends', () => {
  test('docks where the bend lies level or upright', () => {
    assert.deepEqual(
      routeVia(A, nodeRect(260, 200), [
        { x: 220, y: 40 },
        { x: 220, y: 228 },
      ]),
      [
        { x: 172, y: 40 },
        { x: 220, y: 40 },
        { x: 220, y: 228 },
        { x: 260, y: 228 },
      ],
    );
    assert.deepEqual(routeVia(A, nodeRect(260, 200), [{ x: 60, y: 228 }]), [
      { x: 60, y: 56 },
      { x: 60, y: 228 },
      { x: 260, y: 228 },
    ]);
  });

  test('stays orthogonal over any bends', () => {
    const roll = random(11);
    const point = () => ({ x: snap(roll() * 800), y: snap(roll() * 600) });
    for (let i = 0; i < 2000; i += 1) {
      const bends = Array.from({ length: 1 + Math.floor(roll() * 3) }, point);
      const points = routeVia(nodeRect(snap(roll() * 700), 0), nodeRect(snap(roll() * 700), 500), bends);
      assert.ok(isOrthogonal(points), JSON.stringify({ bends, points }));
    }
  });

  test('falls back to the plain line when a node was pulled over its bend', () => {
    assert.deepEqual(routeVia(A, nodeRect(260, 0), [{ x: 50, y: 20 }]), route(A, nodeRect(260, 0)));
  });
});

test('simplify drops doubled points and points on a straight line', () => {
  assert.deepEqual(
    simplify([
      { x: 0, y: 0 },
      { x: 0, y: 0 },
      { x: 5, y: 0 },
      { x: 9, y: 0 },
      { x: 9, y: 4 },
    ]),
    [
      { x: 0, y: 0 },
      { x: 9, y: 0 },
      { x: 9, y: 4 },
    ],
  );
});

test('simplify drops a way there and back', () => {
  const there = [
    { x: 0, y: 0 },
    { x: 9, y: 0 },
    { x: 9, y: 50 },
    { x: 9, y: 0 },
    { x: 20, y: 0 },
  ];
  assert.deepEqual(simplify(there), [
    { x: 0, y: 0 },
    { x: 20, y: 0 },
  ]);
});

test('a label sits on the last level stretch with room, else on the longest', () => {
  const points = [
    { x: 0, y: 0 },
    { x: 24, y: 0 },
    { x: 24, y: 100 },
    { x: 124, y: 100 },
  ];
  assert.deepEqual(labelPoint(points, 80), { x: 74, y: 100 });
  assert.deepEqual(labelPoint(points, 120), { x: 74, y: 100 });
  assert.deepEqual(
    labelPoint(
      [
        { x: 0, y: 0 },
        { x: 0, y: 60 },
      ],
      40,
    ),
    { x: 0, y: 30 },
  );
});

describe('a label whose place is taken', () => {
  const line = [
    { x: 0, y: 0 },
    { x: 400, y: 0 },
  ];

  test('moves along its line to the nearest place that is free', () => {
    const node = nodeRect(170, -28);
    // The node reaches from 170 to 342; a label of 60 fits up to 139 on its left.
    assert.deepEqual(labelPoint(line, 60), { x: 200, y: 0 });
    assert.deepEqual(labelPoint(line, 60, [node]), { x: 120, y: 0 });
  });

  test('stands beside the line when there is no room on it', () => {
    const left = nodeRect(-172, -28);
    const right = nodeRect(40, -28);
    const short = [
      { x: 0, y: 0 },
      { x: 40, y: 0 },
    ];
    // Above the two nodes, which end at -28: a label of 22 has its middle at -40, a pixel between them.
    assert.deepEqual(labelPoint(short, 70, [left, right]), { x: 20, y: -40 });
  });

  test('stays where it would be when there is no room at all', () => {
    const wall = { x: -500, y: -500, width: 2000, height: 1000 };
    assert.deepEqual(labelPoint(line, 60, [wall]), { x: 200, y: 0 });
  });
});

test('a path has round corners that shrink with short stretches', () => {
  const path = roundedPath([
    { x: 0, y: 0 },
    { x: 20, y: 0 },
    { x: 20, y: 6 },
  ]);
  assert.equal(path, 'M0 0 L17 0 Q20 0 20 3 L20 6');
  assert.equal(roundedPath([]), '');
});

test('bounds hold all', () => {
  assert.deepEqual(bounds([A, nodeRect(-10, 100)]), { x: -10, y: 0, width: 182, height: 156 });
  assert.equal(bounds([]), undefined);
});
