package containers

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
)

// mountable is a volume. Volumes with content from the API are read-only.
type mountable struct {
	tree     *memfs.Tree
	readOnly bool
}

// mount mounts the container's volumes, or those only that a file may be in. Volumes that keep the content of the container's start
// are read from then. The caller must call release.
func (in *Ref) mount(ctx context.Context, view *memfs.View, env []string, then *Ref, only string) (release func(), err error) {
	var made []*memfs.Tree
	release = func() {
		for _, tree := range made {
			tree.Free()
		}
	}
	type key struct {
		name string
		then bool
	}
	volumes := map[key]mountable{}
	for i := range in.spec.VolumeMounts {
		mount := &in.spec.VolumeMounts[i]
		v := volumeOf(in.pod, mount.Name)
		if v == nil || only != "" && !strings.HasPrefix(only+"/", strings.TrimSuffix(mount.MountPath, "/")+"/") {
			continue
		}
		from, kept := in, bySubPath(mount) && isProjected(v)
		if kept {
			from = then
		}
		volume, known := volumes[key{v.Name, kept}]
		if !known {
			tree, own, err := from.volume(ctx, v)
			if err != nil {
				release()
				return nil, fmt.Errorf("mounting volume %s: %w", v.Name, err)
			}
			if own {
				made = append(made, tree)
			}
			volume = mountable{tree, own}
			volumes[key{v.Name, kept}] = volume
		}
		view.Mount(mount.MountPath, volume.tree, subPath(*mount, env), mount.ReadOnly || volume.readOnly)
	}
	return release, nil
}

func subPath(mount corev1.VolumeMount, env []string) string {
	if mount.SubPathExpr == "" {
		return mount.SubPath
	}
	expanded, _ := podspec.VariablesOf(env).Expand(mount.SubPathExpr)
	return expanded
}
