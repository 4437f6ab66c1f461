package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"minikcm.dev/minikcm/internal/releases"
)

// patchVersion is a version of Kubernetes with its patch release.
type patchVersion struct{ major, minor, patch int }

func (v patchVersion) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

func (v patchVersion) compare(other patchVersion) int {
	return cmp.Or(cmp.Compare(v.major, other.major), cmp.Compare(v.minor, other.minor), cmp.Compare(v.patch, other.patch))
}

// patchVersions returns the versions that "minikcm envtest use" makes without being asked for one, the
// newest first.
func patchVersions() []patchVersion {
	var all []patchVersion
	for _, release := range releases.All() {
		v, ok := parsePatchVersion(release.Version())
		if ok {
			all = append([]patchVersion{v}, all...)
		}
	}
	return all
}

var patchForm = regexp.MustCompile(`^v?(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})$`)

func parsePatchVersion(text string) (v patchVersion, ok bool) {
	m := patchForm.FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	// The form has digits only.
	v.major, _ = strconv.Atoi(m[1])
	v.minor, _ = strconv.Atoi(m[2])
	v.patch, _ = strconv.Atoi(m[3])
	return v, true
}

// versionSelector selects versions, as setup-envtest's do: X.Y.Z, X.Y and X.Y.x for any patch release, ~X.Y.Z
// for a patch release that is not older, and <, <=, > and >= with one of them.
type versionSelector struct {
	operator string
	patchVersion
	// anyPatch is true for X.Y and X.Y.x, any for all versions.
	anyPatch, any bool
	// newest ignores the installed versions: latest, and a selector that ends with "!".
	newest bool
	// installed looks at nothing else: latest-on-disk.
	installed bool
}

var selectorForm = regexp.MustCompile(`^(<=|>=|<|>|~)?v?(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})(?:\.(0|[1-9]\d{0,4}|x|\*))?(!)?$`)

func parseVersionSelector(text string) (versionSelector, error) {
	switch text {
	case "", "latest":
		return versionSelector{any: true, newest: true}, nil
	case "latest-on-disk":
		return versionSelector{any: true, installed: true}, nil
	}
	m := selectorForm.FindStringSubmatch(text)
	if m == nil {
		return versionSelector{}, fmt.Errorf("version %q must be X.Y.Z, X.Y or X.Y.x, with ~, <, <=, > or >= before it, or with ! behind it for the newest one; or latest or latest-on-disk", text)
	}
	s := versionSelector{operator: m[1], newest: m[5] == "!"}
	s.major, _ = strconv.Atoi(m[2]) // the form has digits only
	s.minor, _ = strconv.Atoi(m[3])
	if s.anyPatch = m[4] == "" || m[4] == "x" || m[4] == "*"; !s.anyPatch {
		s.patch, _ = strconv.Atoi(m[4])
	}
	return s, nil
}

// one returns the only version that the selector can mean.
func (s versionSelector) one() (patchVersion, bool) {
	return s.patchVersion, s.operator == "" && !s.anyPatch && !s.any
}

func (s versionSelector) matches(v patchVersion) bool {
	if s.any {
		return true
	}
	order := v.compare(s.patchVersion)
	sameMinor := v.major == s.major && v.minor == s.minor
	switch {
	case s.operator == "~":
		return sameMinor && order >= 0
	case s.operator == "" && s.anyPatch:
		return sameMinor
	case s.anyPatch && sameMinor: // all its patch releases are equal
		order = 0
	}
	switch s.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return order == 0
}
