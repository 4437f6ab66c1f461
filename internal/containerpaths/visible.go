package containerpaths

import (
	"path/filepath"
	"slices"
	"strings"
)

// Visible returns which of the paths can be shown: one that contains a path of this machine that
// the command needs would hide that. Both are absolute paths without symbolic links. The visible
// paths are in the order in which they have to be mounted, parents first.
func Visible(paths, needed []string) (visible, hiding []string) {
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if slices.ContainsFunc(needed, func(other string) bool { return contains(path, other) }) {
			hiding = append(hiding, path)
		} else {
			visible = append(visible, path)
		}
	}
	return slices.Compact(visible), slices.Compact(hiding)
}

// contains reports whether a path is another one, or a folder above it.
func contains(path, other string) bool {
	return other == path || strings.HasPrefix(other, strings.TrimSuffix(path, string(filepath.Separator))+string(filepath.Separator))
}
