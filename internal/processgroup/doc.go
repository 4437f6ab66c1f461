// Package processgroup ends programs together with their children: a program leads a process
// group, and signals go to the group. On Windows, which has no process groups, only the program
// itself ends. The package also covers the other differences between systems in starting,
// finding and ending processes.
package processgroup
