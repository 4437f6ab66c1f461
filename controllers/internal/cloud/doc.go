// Package cloud has the client of the simulated cloud's controllers. It reads the instances and routes
// that internal/simulatedcloud defines, and creates and deletes routes. It also has the schedule of the
// passes in which these controllers read the cloud.
package cloud
