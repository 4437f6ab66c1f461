package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"

	"minikcm.dev/minikcm/apiserver"
)

// kubectl reads its version from variables that upstream's release build sets by
// -ldflags. A plain "go build", "go run" or "go install" has no such flags, and
// "kubectl version" fails on the placeholders. Every build records the version of the
// kubectl module, so setKubectlVersion copies it from there. The only alternative to the
// link names is a second implementation of "kubectl version".
//
//go:linkname kubectlGitVersion k8s.io/component-base/version.gitVersion
var kubectlGitVersion string

//go:linkname kubectlGitCommit k8s.io/component-base/version.gitCommit
var kubectlGitCommit string

//go:linkname kubectlGitMajor k8s.io/component-base/version.gitMajor
var kubectlGitMajor string

//go:linkname kubectlGitMinor k8s.io/component-base/version.gitMinor
var kubectlGitMinor string

const kubectlModule = "k8s.io/kubectl"

// kubectlVersion is the release of the built-in kubectl, such as v1.37.2.
func kubectlVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return apiserver.DefaultVersion
	}
	for _, dep := range info.Deps {
		if dep.Path != kubectlModule {
			continue
		}
		if dep.Replace != nil {
			dep = dep.Replace
		}
		// Release v1.X.Y of Kubernetes is version v0.X.Y of its staging modules.
		if rest, staged := strings.CutPrefix(dep.Version, "v0."); staged {
			return "v1." + rest
		}
	}
	return apiserver.DefaultVersion
}

// setKubectlVersion sets kubectl's version to release. It must be called before any kubectl
// command is created.
func setKubectlVersion(release string) error {
	major, rest, _ := strings.Cut(strings.TrimPrefix(release, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	kubectlGitVersion, kubectlGitMajor, kubectlGitMinor = release, major, minor
	kubectlGitCommit = "" // the build does not record it
	if err := version.SetDynamicVersion(release); err != nil {
		return fmt.Errorf("setting the version of the built-in kubectl to %s: %w", release, err)
	}
	return nil
}

// kubectlUserAgent returns the user agent of a released kubectl. client-go's default would be
// the process's name, minikcm, and so hide that a write came from a user's kubectl.
func kubectlUserAgent(release string) string {
	return fmt.Sprintf("kubectl/%s (%s/%s) kubernetes/unknown", release, runtime.GOOS, runtime.GOARCH)
}
