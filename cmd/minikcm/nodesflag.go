package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/nodepools"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// nodesFlag is the value of --nodes, which can be repeated: the number of like nodes, or the file of
// node pools. What is not a whole number is a file, so that a file called 3 is written ./3.
type nodesFlag struct {
	count int
	// counted means that a number was given.
	counted bool
	files   []string
}

func (f *nodesFlag) String() string { return strconv.Itoa(f.count) }
func (f *nodesFlag) Type() string   { return "N|FILE" }

func (f *nodesFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return minikcm.ErrTooManyNodes
	case err != nil:
		f.files = append(f.files, text)
	default:
		f.count, f.counted = n, true
	}
	return nil
}

// pools reads the files.
func (f *nodesFlag) pools() ([]minikcm.Pool, error) {
	var all []minikcm.Pool
	for _, file := range f.files {
		pools, err := nodepools.Load(file)
		var problems spec.Problems
		switch {
		case errors.As(err, &problems):
			return nil, badInput{err} // each has its file
		case errors.Is(err, fs.ErrNotExist):
			return nil, badInput{fmt.Errorf("--nodes %s: it is neither a number of nodes nor a file of node pools", file)}
		case err != nil:
			return nil, badInput{fmt.Errorf("--nodes %s: %w", file, err)}
		}
		all = append(all, pools...)
	}
	return all, nil
}
