package containers

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
)

// mountable is a volume. Volumes with content from the API are read-only.
type mountable struct {
	tree     *memfs.Tree
	readOnly bool
}

// mounts are what one machine has mounted. Its projected volumes belong to it alone.
type mounts struct {
	projected []*projection

	// mu guards the trees of projected volumes against a refresh after release.
	mu       sync.Mutex
	released bool
}

// release frees the content that belongs to the machine.
func (m *mounts) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.released = true
	for _, p := range m.projected {
		p.tree.Free()
	}
}

// mount mounts the container's volumes, or those only that a file may be in. Volumes that keep the content of the container's start
// are read from then. The caller must call release.
func (in *Ref) mount(ctx context.Context, view *memfs.View, env []string, then *Ref, only string) (*mounts, error) {
	type key struct {
		name string
		then bool
	}
	all, volumes := &mounts{}, map[key]mountable{}
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
			var err error
			if volume, err = from.open(ctx, v, all, kept); err != nil {
				all.release()
				return nil, fmt.Errorf("mounting volume %s: %w", v.Name, err)
			}
			volumes[key{v.Name, kept}] = volume
		}
		view.Mount(mount.MountPath, volume.tree, subPath(*mount, env), mount.ReadOnly || volume.readOnly)
	}
	return all, nil
}

// open returns a volume to be mounted. kept means that a projected volume does not change.
func (in *Ref) open(ctx context.Context, v *corev1.Volume, all *mounts, kept bool) (mountable, error) {
	if !isProjected(v) {
		tree, err := in.volume(ctx, v)
		return mountable{tree: tree}, err
	}
	p := &projection{in: in, volume: v, kept: kept}
	var err error
	if p.tree, err = p.read(ctx); err != nil {
		return mountable{}, err
	}
	all.projected = append(all.projected, p)
	return mountable{p.tree, true}, nil
}

func subPath(mount corev1.VolumeMount, env []string) string {
	if mount.SubPathExpr == "" {
		return mount.SubPath
	}
	expanded, _ := podspec.VariablesOf(env).Expand(mount.SubPathExpr)
	return expanded
}
