// Package reasons says why an object is not as expected, from what the API tells of it:
// conditions that are bad, states of containers, warning events, finalizers, and the same
// of the objects that it controls. A Deployment's reason is most often its pods'.
//
// Of is a pure function of a Subject: the object, its events and its parts. An Index
// collects subjects from whatever objects and events are at hand. The answer is short, and
// what matters most comes first: causes before consequences.
package reasons
