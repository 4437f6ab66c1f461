// Package reference passes the decoded objects of a watch to a client in the same process, so
// that the server does not encode them and the client does not decode them. The stream of
// events is an ordinary one: frames of protobuf, which faults delay and cut as any other, and
// which virtual time counts. A frame refers to its object instead of containing it.
//
// An object that is passed this way shares its content with the server's own. Its receivers must
// not modify it, just as an object from any informer must not be modified.
package reference
