// Package relay copies the bytes of a connection of a client to and from a process of this machine, such as one that the annotation
// minikcm.dev/host names. Its times are the machine's, as for everything on sockets.
package relay
