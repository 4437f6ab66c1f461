package applets

import "slices"

// Names returns the names of the programs that every simulated container has, sorted.
// Package box implements them.
func Names() []string {
	return []string{
		"[", "ash", "base64", "basename", "bash", "busybox", "cat", "chmod", "chown", "clear",
		"cp", "cut", "dash", "date", "df", "dirname", "du", "echo", "egrep", "env", "expr",
		"false", "find", "grep", "head", "hostname", "id", "kill", "ln", "ls", "md5sum",
		"minikcm-certgen", "mkdir", "mktemp", "mount", "mv", "nl", "nproc", "printenv", "printf", "ps", "pwd",
		"readlink", "realpath", "rev", "rm", "rmdir", "seq", "sh", "sha256sum", "sleep", "sort",
		"stat", "stty", "sync", "sysctl", "tac", "tail", "tar", "tee", "test", "time", "timeout", "touch", "tr",
		"true", "tty", "umask", "uname", "uniq", "uptime", "usleep", "wc", "which", "whoami",
		"xargs", "yes",
	}
}

// Has reports whether every simulated container has a program of that name.
func Has(name string) bool {
	_, found := slices.BinarySearch(Names(), name)
	return found
}
