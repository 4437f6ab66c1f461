// Command minikcm runs a whole Kubernetes control loop in one process. It is a thin
// command line over the packages minikcm and scenarios.
package main

//go:generate go test -run ^TestHelp$ . -update
