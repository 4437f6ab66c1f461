// Package reasons explains why an object is not as expected, from the API's data: bad
// conditions, states of containers, warning events, finalizers, and the same of the objects
// that it controls. The reason of a Deployment is most often the reason of its pods.
//
// Of is a pure function of a Subject: the object, its events and its parts. An Index builds
// subjects from any collection of objects and events. The answer is short, and the most
// important reason comes first: causes before consequences.
//
//minikcm:pure
package reasons
