// Package shell interprets shell scripts of simulated containers: POSIX sh as BusyBox's ash has it, and
// what scripts in containers use of bash (arrays, [[ ]], (( )), ${a//x/y}, here-strings). It walks the
// syntax tree of mvdan.cc/sh/v3/syntax and reaches files, programs and time only through a Container, so
// that a script can neither see nor change the host.
//
// A script is hostile until it has ended. Three limits hold for every one:
//
//   - Parse bounds the text's size and how deep its syntax nests, before the interpreter walks it.
//   - Whatever a script can grow reserves its bytes from Memory before they are allocated. A reservation
//     that fails ends the run, as the kernel's OOM killer would.
//   - Each command, each round of a loop and each block of bytes takes a step of the goroutine's Turn,
//     which ends with the context and shares the processors with all other scripts (Share).
//
// Errors of the methods that run commands are only those that end the whole run; what a script does
// wrong becomes its status and a message on its standard error.
package shell
