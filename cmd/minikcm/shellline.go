package main

import (
	"os"
	"runtime"
	"strings"
)

// exportLine returns the command that sets an environment variable in the shell of the user.
func exportLine(variable, value string) string {
	return exportLineFor(runtime.GOOS, os.Getenv, variable, value)
}

// exportLineFor returns the command for a POSIX shell, and on Windows for the shell that started this
// process, as far as its environment shows that: PowerShell, unless cmd.exe (PROMPT) or a POSIX shell
// (SHELL) has left its mark.
func exportLineFor(goos string, getenv func(string) string, variable, value string) string {
	switch {
	case goos != "windows" || getenv("SHELL") != "":
		return "export " + variable + "=" + shellQuote(value)
	case getenv("PROMPT") != "":
		return "set \"" + variable + "=" + value + "\""
	}
	return "$env:" + variable + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
}
