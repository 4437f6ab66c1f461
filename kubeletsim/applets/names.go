package applets

import "slices"

// Names returns the names of the programs that every simulated container has, sorted.
// Package box implements them.
func Names() []string {
	return []string{
		"[", "ash", "base64", "basename", "bash", "busybox", "cat", "chgrp", "chmod", "chown", "clear",
		"cmp", "cp", "cut", "dash", "date", "dd", "df", "diff", "dirname", "du", "echo", "egrep", "env",
		"expr", "false", "fgrep", "find", "flock", "grep", "head", "hostname", "id", "install", "kill",
		"ln", "logger", "ls", "md5sum", "minikcm-certgen", "mkdir", "mktemp", "mount", "mv", "nice",
		"nl", "nohup", "nproc", "paste", "pgrep", "pidof", "printenv", "printf", "ps", "pwd", "readlink",
		"realpath", "rev", "rm", "rmdir", "sed", "seq", "setsid", "sh", "sha1sum", "sha256sum",
		"sha512sum", "sleep", "sort", "stat", "stty", "sync", "sysctl", "tac", "tail", "tar", "tee",
		"test", "time", "timeout", "touch", "tr", "true", "truncate", "tty", "umask", "uname", "uniq",
		"unlink", "uptime", "usleep", "wc", "which", "whoami", "xargs", "yes",
	}
}

// Has reports whether every simulated container has a program of that name.
func Has(name string) bool {
	_, found := slices.BinarySearch(Names(), name)
	return found
}
