/** How the steps of one request stand, and how that is painted. */
import type { Mark } from '../designer/canvas/paint';
import { isList, isLosslessNumber, isObject, type JsonValue, parseJson } from '../designer/model/json';

export interface NodeState {
  readonly state: string;
  readonly count: number;
  /** A fact for the pill at the lower edge: "2 tries", "1 of 2". */
  readonly label: string;
}

export interface States {
  readonly nodes: ReadonlyMap<string, NodeState>;
  readonly transitions: ReadonlySet<string>;
}

export interface Look {
  /** Class of the node: its state's role. */
  readonly role: string;
  readonly mark: Mark | undefined;
}

const IDLE: Look = { role: 'idle', mark: undefined };

const LOOKS: Readonly<Record<string, Look>> = {
  completed: { role: 'completed', mark: { kind: 'ok', icon: 'check' } },
  waiting: { role: 'waiting', mark: { kind: 'wait', icon: 'clock' } },
  retrying: { role: 'waiting', mark: { kind: 'wait', icon: 'rotate-ccw' } },
  running: { role: 'running', mark: { kind: 'run', icon: 'loader-circle' } },
  faulted: { role: 'faulted', mark: { kind: 'err', icon: 'x' } },
  canceled: { role: 'canceled', mark: { kind: 'off', icon: 'ban' } },
  compensated: { role: 'canceled', mark: { kind: 'off', icon: 'rotate-ccw' } },
};

/** Steps that the request is at now come first when one has to be brought into view. */
const PRESENT = ['faulted', 'waiting', 'retrying', 'running'];

function nodeState(value: JsonValue | undefined): NodeState | undefined {
  if (!isObject(value) || typeof value.state !== 'string') return undefined;
  return {
    state: value.state,
    count: isLosslessNumber(value.count) ? Number(value.count.value) : 0,
    label: typeof value.label === 'string' ? value.label : '',
  };
}

/** Reads `{"nodes": {id: {state, count, label}}, "transitions": [id, …]}`. */
export function readStates(text: string): States {
  const value = text.trim() === '' ? null : parseJson(text);
  const nodes = new Map<string, NodeState>();
  if (!isObject(value)) return { nodes, transitions: new Set() };
  for (const [id, each] of Object.entries(isObject(value.nodes) ? value.nodes : {})) {
    const state = nodeState(each);
    if (state) nodes.set(id, state);
  }
  const taken = isList(value.transitions) ? value.transitions.filter((each) => typeof each === 'string') : [];
  return { nodes, transitions: new Set(taken) };
}

/** Look of a state; without one the step was not reached. A Join that waits has an hourglass. */
export function lookOf(state: NodeState | undefined, activityType: string): Look {
  const look = (state && LOOKS[state.state]) ?? IDLE;
  if (look.mark?.icon === 'clock' && activityType === 'Join') {
    return { role: look.role, mark: { kind: 'wait', icon: 'hourglass' } };
  }
  return look;
}

/** The step to bring into view: where the request stands now. */
export function presentNode(states: States): string | undefined {
  for (const wanted of PRESENT) {
    for (const [id, { state }] of states.nodes) if (state === wanted) return id;
  }
  return undefined;
}
