// Package informerstest makes tests with client-go's fake clientset wait for the watches of their
// informers. The fake loses deletions between the list and the watch of an informer: a watch begins
// with the objects that have changed since the list, and says nothing of those that are gone.
//
//	T1 the informer lists the pods, and its handlers are synced
//	T2 the test deletes a pod
//	T3 the informer watches the pods, and never learns of the deletion
//
// What a test deletes after [Watches.Wait] reaches the informers.
package informerstest
