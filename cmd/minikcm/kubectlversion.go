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
// -ldflags. A build by plain "go build", "go run" or "go install" has no such flags, and
// "kubectl version" fails on the placeholders. The module's version is known to every
// build, so setKubectlVersion copies it from there. Without the link names the only
// other way would be a second implementation of "kubectl version".
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

// setKubectlVersion makes release what kubectl takes for its own version. It must be
// called before any command of kubectl is made.
func setKubectlVersion(release string) error {
	major, rest, _ := strings.Cut(strings.TrimPrefix(release, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	kubectlGitVersion, kubectlGitMajor, kubectlGitMinor = release, major, minor
	kubectlGitCommit = "" // no build knows it
	if err := version.SetDynamicVersion(release); err != nil {
		return fmt.Errorf("setting the version of the built-in kubectl to %s: %w", release, err)
	}
	return nil
}

// kubectlUserAgent is what a released kubectl names itself to the API server. client-go's
// default would name the process, minikcm, and so hide that a person's kubectl wrote.
func kubectlUserAgent(release string) string {
	return fmt.Sprintf("kubectl/%s (%s/%s) kubernetes/unknown", release, runtime.GOOS, runtime.GOARCH)
}
