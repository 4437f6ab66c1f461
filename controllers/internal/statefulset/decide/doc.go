// Package decide decides the next step of a StatefulSet: which pods, claims and revisions to
// create, update, adopt, release or delete, and the status. It guarantees that at most one pod
// of an ordinal exists and, with the policy OrderedReady, that one pod changes at a time. It
// depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
