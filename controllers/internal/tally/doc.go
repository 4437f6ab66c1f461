// Package tally keeps accounts of objects as the events of an informer show them, so that a
// reconcile reads sums and exceptions instead of all objects of its owner. An account holds
// the objects of one group, such as the pods that one ReplicaSet controls. What an account
// sums up is the controller's own; the tally assigns objects to accounts, and moves an object
// whose group changes.
//
// A tally is a view of its own, which may be behind the informer's cache: a decision reads
// its objects from one of them and not from both. The same events update the tally and the
// controller's expectations, so once the expectations are met, the tally shows the
// controller's own writes.
package tally
