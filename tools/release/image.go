package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser runs minikcm in the image. It owns its home directory, where minikcm keeps kubeconfigs.
const imageUser = 65532

// writeImage writes the container image for all architectures of Linux, as an OCI layout and as
// a tar file of it. It has the static program and nothing that it does not need.
func (r *release) writeImage(archives []archive) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	images := 0
	for i := range archives {
		a := &archives[i]
		if a.os != "linux" {
			continue
		}
		image, err := r.imageFor(a)
		if err != nil {
			return fmt.Errorf("making the image for %s: %w", a.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: a.os, Architecture: a.arch}},
		})
		images++
	}
	if images == 0 {
		return nil
	}
	dir := filepath.Join(r.dist, "image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	named := map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "minikcm:" + r.version}
	if err := path.AppendIndex(index, layout.WithAnnotations(named)); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return r.tarFolder(dir, filepath.Join(r.dist, fmt.Sprintf("minikcm_%s_image.tar", r.version)))
}

// imageFor returns the image for an architecture.
func (r *release) imageFor(a *archive) (v1.Image, error) {
	licences, err := r.licences()
	if err != nil {
		return nil, err
	}
	base := []entry{
		{name: "etc/", mode: 0o755, dir: true},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nminikcm:x:%d:%d:minikcm:/home/minikcm:/sbin/nologin\n", imageUser, imageUser)},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nminikcm:x:%d:\n", imageUser)},
		{name: "home/", mode: 0o755, dir: true},
		{name: "home/minikcm/", mode: 0o750, dir: true, uid: imageUser, gid: imageUser},
		{name: "tmp/", mode: 0o1777, dir: true},
		{name: "usr/", mode: 0o755, dir: true},
		{name: "usr/share/", mode: 0o755, dir: true},
		{name: "usr/share/doc/", mode: 0o755, dir: true},
	}
	for _, e := range licences {
		e.name = "usr/share/doc/minikcm" + e.name[len("package"):]
		base = append(base, e)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, entries := range [][]entry{base, {{name: "usr/bin/", mode: 0o755, dir: true}, {name: "usr/bin/minikcm", mode: 0o755, data: a.program}}} {
		data, err := r.tarOf(entries)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "minikcm " + r.version}}); err != nil {
			return nil, err
		}
	}
	return mutate.ConfigFile(image, r.configOf(image, a))
}

// configOf returns the configuration of an image: its command and its user.
func (r *release) configOf(image v1.Image, a *archive) *v1.ConfigFile {
	present, err := image.ConfigFile()
	if err != nil {
		present = &v1.ConfigFile{} // an image in memory has one
	}
	config := present.DeepCopy()
	config.OS, config.Architecture, config.Created = a.os, a.arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", imageUser, imageUser),
		Env:        []string{"PATH=/usr/bin", "HOME=/home/minikcm"},
		WorkingDir: "/home/minikcm",
		Entrypoint: []string{"/usr/bin/minikcm"},
		Cmd:        []string{"up"},
		Labels: map[string]string{
			"org.opencontainers.image.title": "minikcm", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.description": "A whole Kubernetes control loop in one process",
		},
	}
	return config
}

// tarFolder writes a folder as a tar file, the names in order.
func (r *release) tarFolder(dir, to string) error {
	var entries []entry
	walked := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries = append(entries, entry{name: filepath.ToSlash(below) + "/", mode: 0o755, dir: true})
			return nil
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: filepath.ToSlash(below), mode: 0o644, data: data})
		return err
	})
	data, err := r.tarOf(entries)
	if err := errors.Join(walked, err); err != nil {
		return err
	}
	return writeFile(to, data)
}
