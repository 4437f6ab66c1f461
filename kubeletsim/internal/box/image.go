package box

import (
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
)

// NewImage makes the root file system of a container: the programs, and what every
// image has. known is whether there is nothing else in it. Hostname, hosts and resolv.conf are for the caller
// to add.
func NewImage(space *memfs.Space, known bool) *memfs.Tree {
	t := space.NewTree(0o755)
	if !known {
		t = space.NewPartialTree(0o755)
	}
	for _, dir := range []string{"dev", "etc", "home", "opt", "proc", "root", "run", "sbin", "srv", "sys", "usr/bin", "usr/local/bin", "usr/sbin", "var/log"} {
		t.PutDir(dir, 0o755)
	}
	for _, dir := range []string{"dev/shm", "mnt", "tmp", "var/tmp"} { // images have nothing there
		t.PutCompleteDir(dir, 0o755)
	}
	t.Put(boxPath, 0o755, []byte(binary))
	for _, name := range applets.Names() {
		if "/bin/"+name != boxPath {
			t.Link("bin/"+name, boxPath)
		}
	}
	t.Link("usr/bin/env", "/bin/env")
	for _, device := range []string{"null", "zero", "full", "tty", "random", "urandom"} {
		t.PutDevice("dev/" + device)
	}
	t.Link("dev/stdin", "/proc/self/fd/0")
	t.Link("dev/stdout", "/proc/self/fd/1")
	t.Link("dev/stderr", "/proc/self/fd/2")
	t.Link("var/run", "/run")
	for name, text := range map[string]string{
		"etc/passwd":     "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
		"etc/group":      "root:x:0:\nnogroup:x:65534:\n",
		"etc/os-release": "NAME=\"minikcm simulated container\"\nID=minikcm\nPRETTY_NAME=\"minikcm simulated container\"\n",
	} {
		t.Put(name, 0o644, []byte(text))
	}
	return t
}
