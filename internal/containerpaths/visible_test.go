package containerpaths_test

import (
	"slices"
	"testing"

	"minikcm.dev/minikcm/internal/containerpaths"
)

func TestVisible(t *testing.T) {
	needed := []string{"/home/me/shop/bin/manager", "/home/me/shop", "/tmp/minikcm-run-1"}
	for _, test := range []struct{ name, path, shown string }{
		{"elsewhere", "/etc/shop", "/etc/shop"},
		{"beside", "/tmp/certs", "/tmp/certs"},
		{"a prefix of the name", "/home/me/sho", "/home/me/sho"},
		{"beneath the working directory", "/home/me/shop/config", "/home/me/shop/config"},
		{"the working directory", "/home/me/shop", ""},
		{"above", "/tmp", ""},
		{"the program", "/home/me/shop/bin/manager", ""},
		{"the root", "/", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			visible, hiding := containerpaths.Visible([]string{test.path}, needed)
			if shown := slices.Contains(visible, test.path); shown != (test.shown != "") || shown == slices.Contains(hiding, test.path) {
				t.Errorf("visible: %q, hiding: %q", visible, hiding)
			}
		})
	}
}

func TestVisibleParentsFirst(t *testing.T) {
	visible, _ := containerpaths.Visible([]string{"/a/b", "/c", "/a", "/a/b"}, nil)
	if want := []string{"/a", "/a/b", "/c"}; !slices.Equal(visible, want) {
		t.Errorf("got %q, want %q", visible, want)
	}
}
