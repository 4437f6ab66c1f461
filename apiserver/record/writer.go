package record

import "strings"

// Writer is who wrote, in a word: the controller, the scheduler or the kubelet by its
// name, and others by their program's.
func (w *Write) Writer() string {
	if name, own := strings.CutPrefix(w.UserAgent, "minikcm/"); own {
		return strings.TrimPrefix(name, "default-")
	}
	name, _, _ := strings.Cut(w.UserAgent, "/")
	if name == "" {
		return w.Actor
	}
	return name
}
