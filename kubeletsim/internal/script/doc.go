// Package script predicts the run of a container's command without running it: its duration, its
// exit code, and its output up to a given time. It understands commands whose whole effect is to
// take time, to write and to exit, and shell scripts made of them (see Program). Everything else
// yields ErrNotPredictable, and package box runs it.
//
// Time is an argument. The same Program with the same ID yields the same prediction each
// time, so a log costs nothing until it is read: reading it runs the script again, along
// with the clock. docs/decisions/0012-shell-simulation.md says why scripts have two
// interpreters.
//
//minikcm:pure
package script
