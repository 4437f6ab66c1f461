package bootstrap

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"minikcm.dev/minikcm/internal/kwok"
)

// maxStageFiles caps the files of one folder of ReadStages.
const maxStageFiles = 1000

// ReadStages returns the objects of kwok's kinds in files, and in the files of folders that end in .yaml, .yml or
// .json, for Stages.Manifests. It fails if one of them is invalid, of another kind, or there twice. Errors begin with the path.
func ReadStages(paths []string) ([]kwok.Manifest, error) {
	var all []kwok.Manifest
	names := map[string]string{}
	for _, path := range paths {
		files, err := stageFiles(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, file := range files {
			manifests, err := readStageFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			for _, m := range manifests {
				if other, taken := names[m.String()]; taken {
					return nil, fmt.Errorf("%s: %s is also in %s", file, &m, other)
				}
				names[m.String()] = file
			}
			all = append(all, manifests...)
		}
	}
	return all, nil
}

func stageFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			return err
		}
		if entry.Name() == "kustomization.yaml" || entry.Name() == "kustomization.yml" {
			return nil
		}
		if files = append(files, file); len(files) > maxStageFiles {
			return fmt.Errorf("the folder has more than %d files", maxStageFiles)
		}
		return nil
	})
	return files, err
}

func readStageFile(file string) ([]kwok.Manifest, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close() // read only
	data, err := io.ReadAll(io.LimitReader(opened, kwok.MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > kwok.MaxFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", kwok.MaxFile)
	}
	return kwok.Split(data)
}
