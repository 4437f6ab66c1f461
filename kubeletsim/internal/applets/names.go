package applets

import "slices"

// Names returns the names of the programs that every simulated container has, sorted.
// Package box implements them.
func Names() []string {
	return []string{
		"[", "ash", "awk", "base64", "basename", "bash", "busybox", "cat", "chgrp", "chmod", "chown", "clear",
		"cmp", "comm", "cp", "cut", "dash", "date", "dd", "df", "diff", "dirname", "du", "echo", "egrep", "env",
		"expr", "false", "fgrep", "find", "flock", "gawk", "getent", "grep", "hd", "head", "hexdump", "hostname", "httpd", "id", "install", "join", "kill",
		"ln", "logger", "ls", "mawk", "md5sum", "minikcm-certgen", "mkdir", "mktemp", "mount", "mv", "nc", "nice",
		"nl", "nohup", "nproc", "nslookup", "paste", "pgrep", "pidof", "ping", "ping6", "printenv", "printf", "ps", "pwd", "readlink",
		"realpath", "rev", "rm", "rmdir", "sed", "seq", "setsid", "sh", "sha1sum", "sha256sum",
		"sha512sum", "sleep", "sort", "split", "stat", "stty", "sync", "sysctl", "tac", "tail", "tar", "tee",
		"test", "time", "timeout", "touch", "tr", "true", "truncate", "tty", "umask", "umount", "uname", "uniq",
		"unlink", "uptime", "usleep", "wc", "wget", "which", "whoami", "xargs", "yes",
	}
}

// Others returns the names of the programs that box implements in addition, and that only an image of unknown content is assumed to
// have, sorted.
func Others() []string { return []string{"curl", "dig", "host"} }

// Has reports whether box implements a program of that name.
func Has(name string) bool {
	_, found := slices.BinarySearch(Names(), name)
	return found || slices.Contains(Others(), name)
}

// Networked reports whether a program of that name has no other purpose than to reach something over the
// network.
func Networked(name string) bool {
	switch name {
	case "curl", "wget", "aria2c", "http", "https", "nc", "ncat", "netcat", "telnet", "socat", "grpcurl", "grpc_health_probe", "websocat", "nslookup", "dig", "drill", "host", "ping", "ping6", "arping",
		"traceroute", "traceroute6", "tracepath", "mtr", "nmap", "ssh", "scp", "sftp", "ftp", "iperf", "iperf3":
		return true
	}
	return false
}
