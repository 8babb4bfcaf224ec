/** Definitions that several tests start from. */
import { type DefinitionDoc, readDefinition } from '../../../static/designer/model/definition';

/** Start → approval, which leads on to one of two ends. */
export const LEAVE = `{
  "id": "d1", "name": "leave-request", "displayName": "Leave request", "version": 1,
  "nodes": [
    {"id": "start", "name": "Start", "activityType": "Start", "properties": {}, "x": 0, "y": 0},
    {"id": "approve", "name": "Approve", "activityType": "UserTask", "properties": {"AssigneeRules": [{"type": "User", "values": ["manager"]}]}, "x": 260, "y": 0},
    {"id": "yes", "name": "Granted", "activityType": "End", "properties": {"Outcome": "approved"}, "x": 520, "y": -60},
    {"id": "no", "name": "Refused", "activityType": "End", "properties": {"Outcome": "rejected"}, "x": 520, "y": 60}
  ],
  "transitions": [
    {"id": "t1", "sourceNodeId": "start", "targetNodeId": "approve"},
    {"id": "t2", "sourceNodeId": "approve", "targetNodeId": "yes", "condition": "outcome == 'approved'"},
    {"id": "t3", "sourceNodeId": "approve", "targetNodeId": "no", "isDefault": true}
  ],
  "variables": [{"name": "days", "type": "number", "required": true, "defaultValue": 1.50}]
}`;

export function leave(): DefinitionDoc {
  return readDefinition(LEAVE);
}

/** The same definition as an import brings it: nothing says where the nodes stand. */
export function leaveWithoutPlaces(): DefinitionDoc {
  return readDefinition(LEAVE.replace(/, "x": -?\d+, "y": -?\d+/g, ''));
}

/** A generator of numbers that are the same in each run (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
