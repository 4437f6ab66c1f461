package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxRegistry bounds the file of --registry-file, which becomes a ConfigMap, in bytes.
const maxRegistry = 900 << 10

// readRegistry reads the list of the images that exist.
func readRegistry(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("--registry-file: %w", err)
	}
	defer f.Close() // it is only read
	data, err := io.ReadAll(io.LimitReader(f, maxRegistry+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--registry-file: %w", err)
	case len(data) > maxRegistry:
		return "", fmt.Errorf("--registry-file: %s is larger than %d bytes", name, maxRegistry)
	case strings.TrimSpace(string(data)) == "":
		return "", fmt.Errorf("--registry-file: %s has no image: write one reference a line, such as nginx or quay.io/argoproj/*", name)
	}
	return string(data), nil
}
