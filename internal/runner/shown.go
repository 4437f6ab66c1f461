package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/containerpaths"
)

// shownPaths returns the paths of the container's volumes at which the command finds their
// content. A volume without files gets an empty folder.
func (r *runner) shownPaths() ([]string, error) {
	if !r.opts.ContainerPaths {
		return nil, nil
	}
	wd, wdErr := os.Getwd()
	program, err := filepath.Abs(r.program)
	if err := errors.Join(wdErr, err); err != nil {
		return nil, err
	}
	var needed, paths []string
	for _, path := range []string{wd, program, r.dir} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
		needed = append(needed, path, real)
	}
	container := containerOf(&corev1.PodTemplateSpec{Spec: r.pod.Spec}, r.container)
	for _, path := range mountsOf(&r.pod.Spec, container, false) {
		from := filepath.Join(r.root(), path)
		if _, err := os.Stat(from); err != nil {
			if err := os.MkdirAll(from, 0o700); err != nil {
				return nil, fmt.Errorf("making a folder for the volume at /%s: %w", path, err)
			}
		}
		paths = append(paths, "/"+path)
	}
	visible, hiding := containerpaths.Visible(paths, needed)
	if len(hiding) > 0 {
		r.say("the volume at %s is beneath %s only: at its path, it would hide files that the command needs", strings.Join(hiding, ", "), r.root())
	}
	return visible, nil
}
