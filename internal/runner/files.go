package runner

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxFiles limits the content of the container's volumes, in bytes.
const maxFiles = 256 << 20

// mountsOf returns the paths of a container's volumes, relative to the root. With fromAPI, it
// returns only the volumes whose content the kubelet updates.
func mountsOf(spec *corev1.PodSpec, container *corev1.Container, fromAPI bool) []string {
	var paths []string
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			continue
		}
		v := &spec.Volumes[i]
		updated := v.Secret != nil || v.ConfigMap != nil || v.DownwardAPI != nil || v.Projected != nil
		if at := strings.TrimPrefix(path.Clean("/"+mount.MountPath), "/"); at != "" && (updated || !fromAPI) {
			paths = append(paths, at)
		}
	}
	return paths
}

// unpack writes the files of an archive beneath a folder. A file that has not changed is left
// alone, another is replaced at once. It returns the paths of the archive's files. Links and
// special files are left out.
func unpack(archive io.Reader, root string) (written map[string]bool, err error) {
	written = map[string]bool{}
	budget := &io.LimitedReader{R: archive, N: maxFiles}
	reader := tar.NewReader(budget)
	for {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return written, nil
		case budget.N <= 0:
			return nil, fmt.Errorf("the container's volumes have more than %d MiB", maxFiles>>20)
		case err != nil:
			return nil, err
		}
		name := filepath.FromSlash(strings.TrimPrefix(path.Clean("/"+header.Name), "/"))
		if !filepath.IsLocal(name) {
			continue
		}
		at := filepath.Join(root, name)
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(at, 0o700)
		case tar.TypeReg:
			written[name] = true
			err = replace(at, reader, fs.FileMode(header.Mode).Perm())
		}
		if err != nil {
			return nil, err
		}
	}
}

// replace gives a file new content, if that differs.
func replace(at string, content io.Reader, mode fs.FileMode) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if known, err := os.ReadFile(at); err == nil && bytes.Equal(known, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(at), ".minikcm-")
	if err != nil {
		return err
	}
	_, err = next.Write(data)
	// The command runs as this user, whatever the user of the container is.
	err = errors.Join(err, next.Chmod(mode|0o400), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), at)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}

// prune removes the files beneath the paths of a folder that are not in kept.
func prune(root string, paths []string, kept map[string]bool) error {
	for _, at := range paths {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(at)), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if name, err := filepath.Rel(root, file); err != nil || kept[name] {
				return err
			}
			return os.Remove(file)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
