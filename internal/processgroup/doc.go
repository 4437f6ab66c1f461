// Package processgroup ends programs together with their children: a program leads a process
// group, and signals go to the group. On systems without process groups, only the program itself
// ends.
package processgroup
