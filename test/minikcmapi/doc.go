// Package minikcmapi has the tests of minikcm's own API beneath /minikcm/v1/: the clock, the work of the
// controllers' queues, forks and runs of scenarios. A file is named for its part.
//
// They are one package because each test binary with a cluster takes ten seconds of processor time to link.
package minikcmapi
