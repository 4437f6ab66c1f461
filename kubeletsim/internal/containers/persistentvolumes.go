package containers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
)

// claim returns the content of the volume that a claim is bound to. All pods that use what is
// behind the volume share it, on all nodes. If the claim is not bound, which a running pod does
// not see unless the claim is Lost, the content is the pod's own.
func (in *Ref) claim(ctx context.Context, name string) (*memfs.Tree, error) {
	rt := in.runtime
	own := func() (*memfs.Tree, error) { return in.entry.Files().volume(rt.space, "claim "+name), nil }
	claim, err := rt.opts.Client.CoreV1().PersistentVolumeClaims(in.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && claim.Spec.VolumeName == "" {
		return own()
	}
	if err != nil {
		return nil, err
	}
	volume, err := rt.opts.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return own()
	}
	if err != nil {
		return nil, fmt.Errorf("getting the volume of claim %s/%s: %w", in.pod.Namespace, name, err)
	}
	if err := rt.freeDeletedVolumes(); err != nil {
		return nil, err
	}
	return rt.shared.volume(rt.space, contentKey(volume, in.node.Name)), nil
}

// contentKey identifies what is behind a volume, seen from a node.
func contentKey(volume *corev1.PersistentVolume, node string) string {
	switch source := &volume.Spec.PersistentVolumeSource; {
	case source.HostPath != nil:
		return hostKey(node, source.HostPath.Path)
	case source.Local != nil:
		return hostKey(node, source.Local.Path)
	case source.NFS != nil:
		return nfsKey(source.NFS)
	case source.CSI != nil:
		return "csi " + source.CSI.Driver + " " + source.CSI.VolumeHandle
	}
	return "volume " + string(volume.UID)
}

// hostKey identifies a path of a node.
func hostKey(node, path string) string { return "host " + node + " " + path }

// nfsKey identifies a path of an NFS server.
func nfsKey(source *corev1.NFSVolumeSource) string {
	return "nfs " + source.Server + " " + source.Path
}

// freeDeletedVolumes starts to watch volumes when the first content is used. Content is freed with
// its volume if the volume has the policy Delete, or if its source has no identity of its own.
// Otherwise it stays for the next volume of the same source. Content on a node (hostPath, local)
// always stays.
func (rt *Runtime) freeDeletedVolumes() error {
	var err error
	rt.shared.watching.Do(func() {
		err = rt.opts.WatchVolumes(func(volume *corev1.PersistentVolume) {
			if volume.Spec.HostPath != nil || volume.Spec.Local != nil {
				return
			}
			key := contentKey(volume, "")
			if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete || key == "volume "+string(volume.UID) {
				rt.shared.drop(key)
			}
		})
	})
	if err != nil {
		return fmt.Errorf("watching volumes: %w", err)
	}
	return nil
}

// drop frees the content with a key.
func (s *sharedVolumes) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tree := s.volumes[key]; tree != nil {
		tree.Free()
		delete(s.volumes, key)
	}
}
