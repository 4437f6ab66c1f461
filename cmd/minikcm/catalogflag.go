package main

import (
	"fmt"
	"io"
	"os"

	"minikcm.dev/minikcm/kubeletsim"
)

// maxCatalog bounds the file of --image-catalog, in bytes.
const maxCatalog = 8 << 20

// readCatalog returns the text of a catalog of images: empty for the built-in one, none, or the content of a file.
func readCatalog(name string) (string, error) {
	if name == "" || name == kubeletsim.CatalogNone {
		return name, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("--image-catalog: %w", err)
	}
	defer f.Close() // it is only read
	data, err := io.ReadAll(io.LimitReader(f, maxCatalog+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--image-catalog: %w", err)
	case len(data) > maxCatalog:
		return "", fmt.Errorf("--image-catalog: %s is larger than %d bytes", name, maxCatalog)
	case len(data) == 0:
		return "", fmt.Errorf("--image-catalog: %s is empty: none is the catalog without profiles", name)
	}
	return string(data), nil
}
