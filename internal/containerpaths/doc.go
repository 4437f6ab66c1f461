// Package containerpaths starts a command that finds files at the paths that they have in a
// container, while they lie in a folder of this machine. Only the command and its children see
// them there: they have a mount namespace of their own. It needs Linux, and either the right to
// mount or user namespaces for all users.
//
// The caller's program is executed a second time, to mount the files and to become the command, so
// its main function has to call Enter first.
package containerpaths
