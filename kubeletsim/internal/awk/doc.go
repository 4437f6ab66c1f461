// Package awk interprets the language of POSIX's awk for simulated containers. A program reaches files, time and
// memory only through its Host. Like a shell script it is hostile: its text and its nesting are bounded, whatever it
// can grow reserves its bytes first, and each statement takes a step, which ends with the context.
//
// What it leaves out (commands in pipes, system, regular expressions as RS, functions of gawk) is an
// *UnsupportedError.
package awk
