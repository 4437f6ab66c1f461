// Package cloud is the simulated cloud as its controllers see it: a client that reads the instances
// and routes that internal/simulatedcloud defines, and creates and deletes routes. It also has the
// schedule of passes in which these controllers read the cloud.
package cloud
