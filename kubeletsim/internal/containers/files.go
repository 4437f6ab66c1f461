package containers

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/podcertificates"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// Files are the files and processes of one pod's containers.
type Files struct {
	mu sync.Mutex
	// volumes live as long as the pod, by name. roots are the containers' root file systems, by
	// container.
	volumes map[string]*memfs.Tree
	roots   map[string]containerRoot
	// consoles are the processes that clients have attached to, by container.
	consoles map[string]*console
	// runs are the live processes, the present and the last of each container.
	runs map[string][]*liveRun
	// beginnings are the sources that the present runs read at their start, by container.
	beginnings map[string]*beginning
	// machines are the machines that probes share, by container.
	machines map[string]*keptMachine
	// served are the certificates of TLS servers, by container and file.
	served map[servedKey]*servedCertificate
	// servers hold the state of described servers, by container.
	servers map[string]*serverState
	// sockets are the ports on which programs listen or have listened, and listened has the last run of each container in which one did.
	sockets  map[socketKey]liveSocket
	listened map[string]string
	// changed is called when files of the pod's own have changed; nil: nothing is.
	changed func()
	// credentials belong to the podCertificate sources; nil until the first use.
	credentials *[]*podcertificates.Credential
}

// containerRoot holds the state that the commands of one run of a container share.
type containerRoot struct {
	id   string
	tree *memfs.Tree
	// memory pays for the commands and for the files that they write.
	memory *shell.Budget
	// assumptions holds the assumptions about the image. ran is set once a program of which nothing is known
	// has run.
	assumptions *assumptions
	ran         *atomic.Bool
}

// Free releases the pod's files and ends its processes.
func (f *Files) Free() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tree := range f.volumes {
		tree.Free()
	}
	for _, root := range f.roots {
		root.tree.Free()
	}
	for _, kept := range f.machines {
		kept.leave()
	}
	f.volumes, f.roots, f.machines, f.beginnings, f.served, f.servers = nil, nil, nil, nil, nil, nil
	for _, runs := range f.runs {
		for _, run := range runs {
			run.cancel()
		}
	}
}

// Watch calls changed when what the containers have written into the pod's own volumes and their
// root file systems has changed for the first time, and for the first time after each call of
// Written. changed must not block.
func (f *Files) Watch(changed func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = changed
	for _, tree := range f.volumes {
		tree.Watch(changed)
	}
	for _, root := range f.roots {
		root.tree.Watch(changed)
	}
}

// Written counts the bytes that the containers of a pod have written.
type Written struct {
	// Volumes has the pod's own volumes, by name, and Containers the root file systems of the
	// containers.
	Volumes, Containers map[string]int64
}

// Written returns how much the containers have written.
func (f *Files) Written() Written {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := Written{Volumes: map[string]int64{}, Containers: map[string]int64{}}
	for name, tree := range f.volumes {
		w.Volumes[name] = tree.Written()
	}
	for name, root := range f.roots {
		w.Containers[name] = root.tree.Written()
	}
	return w
}

// watch watches a new tree. It requires the lock.
func (f *Files) watch(tree *memfs.Tree) {
	if f.changed != nil {
		tree.Watch(f.changed)
	}
}

// emptyDir returns the content of an emptyDir volume. What is kept in memory is limited, as a
// tmpfs is.
func (f *Files) emptyDir(space *memfs.Space, name string, source *corev1.EmptyDirVolumeSource) *memfs.Tree {
	tree := f.volume(space, name)
	if limit := source.SizeLimit; source.Medium == corev1.StorageMediumMemory && limit != nil && limit.Sign() > 0 {
		tree.Limit(limit.Value())
	}
	return tree
}

// volume returns a volume that lives as long as the pod.
func (f *Files) volume(space *memfs.Space, name string) *memfs.Tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.volumes == nil {
		f.volumes = map[string]*memfs.Tree{}
	}
	if f.volumes[name] == nil {
		f.volumes[name] = space.NewTree(0o777)
		f.watch(f.volumes[name])
	}
	return f.volumes[name]
}

// root returns a container's root file system, which is new for each run.
func (f *Files) root(space *memfs.Space, name, id string, known bool, files map[string]images.File, memory func() *shell.Budget, ran func() bool) containerRoot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.roots == nil {
		f.roots = map[string]containerRoot{}
	}
	root := f.roots[name]
	if root.id != id {
		if root.tree != nil {
			root.tree.Free()
		}
		root = containerRoot{id, box.NewImage(space, known), memory(), newAssumptions(), &atomic.Bool{}}
		root.ran.Store(ran())
		for _, path := range slices.Sorted(maps.Keys(files)) {
			root.tree.Put(path, files[path].Mode, []byte(files[path].Text))
		}
		f.watch(root.tree)
		f.roots[name] = root
	}
	return root
}
