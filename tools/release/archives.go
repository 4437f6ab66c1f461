package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is the input of the packages.
type release struct {
	root, dist, version, url string
	// time is the commit's time, which all files get.
	time time.Time
}

// archive is one of goreleaser's archives.
type archive struct {
	os, arch, name, sha256 string
	// program is the executable of the archive.
	program []byte
}

// programName returns the name of the executable.
func (a *archive) programName() string {
	if a.os == "windows" {
		return "minikcm.exe"
	}
	return "minikcm"
}

// archives reads the archives of all platforms from dist; there may be fewer in a build for one.
func (r *release) archives() ([]archive, error) {
	var all []archive
	for _, platform := range platforms {
		a := archive{}
		a.os, a.arch, _ = strings.Cut(platform, "/")
		a.name = fmt.Sprintf("minikcm_%s_%s_%s.tar.gz", r.version, a.os, a.arch)
		open := fromTar
		if a.os == "windows" {
			a.name, open = strings.TrimSuffix(a.name, "tar.gz")+"zip", fromZip
		}
		data, err := os.ReadFile(filepath.Join(r.dist, a.name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if a.program, err = open(data, a.programName()); err != nil {
			return nil, fmt.Errorf("reading %s: %w", a.name, err)
		}
		a.sha256 = sumOf(data)
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no archives of version %s", r.dist, r.version)
	}
	return all, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fromTar returns a file of a compressed archive.
func fromTar(data []byte, name string) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for in := tar.NewReader(plain); ; {
		header, err := in.Next()
		if err != nil {
			return nil, fmt.Errorf("looking for %s: %w", name, err)
		}
		if header.Name == name {
			return io.ReadAll(in)
		}
	}
}

// fromZip returns a file of a zip archive.
func fromZip(data []byte, name string) ([]byte, error) {
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	file, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// entry is a file or folder of a tar file that is written here.
type entry struct {
	name string
	mode int64
	data []byte
	// dir means a folder.
	dir      bool
	uid, gid int
}

// tarOf returns a tar file whose entries have the time of the release.
func (r *release) tarOf(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: r.time, Typeflag: tar.TypeReg, Uid: e.uid, Gid: e.gid}
		if e.dir {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return b.Bytes(), err
}

// compress returns data as gzip does it.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	out, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = out.Write(data)
	err = errors.Join(err, out.Close())
	return b.Bytes(), err
}

// packageSums is the file with the sums of the packages that this program makes; goreleaser writes one for its own.
const packageSums = "checksums-packages.txt"

// writeSums writes the sums of all packages, as sha256sum prints them.
func (r *release) writeSums() error {
	var files []string
	for _, pattern := range []string{"homebrew/*.rb", "scoop/*.json", "krew/*.yaml", "npm/*.tgz", "*_image.tar"} {
		found, err := filepath.Glob(filepath.Join(r.dist, pattern))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	var b strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sumOf(data), filepath.Base(file))
	}
	return writeFile(filepath.Join(r.dist, packageSums), []byte(b.String()))
}
