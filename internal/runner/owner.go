package runner

import (
	"strconv"
	"strings"

	"minikcm.dev/minikcm/internal/processgroup"
)

// ownerName names a runner: the host and the ID of its process.
func ownerName(host string, pid int) string { return host + "/" + strconv.Itoa(pid) }

// hasEnded reports whether a runner was on this host and its process does not exist any more.
func hasEnded(owner, host string) bool {
	at, text, _ := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	return at == host && err == nil && pid > 0 && !processgroup.Exists(pid)
}
