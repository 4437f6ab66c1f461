package podspec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SubPathProblem says why a kubelet does not create a container: the subPathExpr of a mount gives a path that would leave the
// volume. It is empty if there is no problem, or if a value is not known.
func SubPathProblem(pod *corev1.Pod, c *corev1.Container) string {
	for _, mount := range c.VolumeMounts {
		if mount.SubPathExpr == "" {
			continue
		}
		expanded, known := KnownVariables(pod, c).Expand(mount.SubPathExpr)
		switch {
		case !known:
		case path.IsAbs(expanded):
			return fmt.Sprintf("error SubPath `%s` must not be an absolute path", expanded)
		case slices.Contains(strings.Split(expanded, "/"), ".."):
			return fmt.Sprintf("unable to provision SubPath `%s`: must not contain '..'", expanded)
		}
	}
	return ""
}
