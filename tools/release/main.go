package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name a step: prepare or package")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	root := flags.String("root", ".", "the repository's root")
	stamp := flags.Int64("time", 0, "the time of all files, in seconds since 1970")
	switch args[0] {
	case "prepare":
		program := flags.String("minikcm", "bin/minikcm", "the program for this machine")
		out := flags.String("out", "bin/release/files", "the folder to write to")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return prepare(*root, *program, *out, time.Unix(*stamp, 0))
	case "package":
		dist := flags.String("dist", "dist", "the folder with goreleaser's archives")
		version := flags.String("version", "", "the version, without a v")
		url := flags.String("url", "", "the address of the folder from which the archives will be downloaded")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		if *version == "" {
			return errors.New("-version is missing")
		}
		return packageAll(&release{root: *root, dist: *dist, version: *version, url: *url, time: time.Unix(*stamp, 0).UTC()})
	}
	return fmt.Errorf("there is no step %s: prepare and package are the steps", args[0])
}

// prepare writes the files that the archives contain besides the program.
func prepare(root, program, out string, at time.Time) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := errors.Join(writeCompletions(program, out), writeManPages(root, out, at), writeLicences(root, out)); err != nil {
		return err
	}
	// Packages of Linux distributions have the times of folders.
	return filepath.WalkDir(out, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	})
}

// packageAll makes the packages of a release.
func packageAll(r *release) error {
	archives, err := r.archives()
	if err != nil {
		return err
	}
	return errors.Join(r.writeManifests(archives), r.writeNPM(archives), r.writeImage(archives), r.writeSums())
}
