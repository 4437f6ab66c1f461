package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/kubeletsim/kwok"
)

// maxStageFiles caps the files of one folder of --stages.
const maxStageFiles = 1000

// readStages returns the objects of kwok's kinds in files, and in the files of folders that end in .yaml, .yml or
// .json.
func readStages(paths []string) ([]kwok.Manifest, error) {
	var all []kwok.Manifest
	names := map[string]string{}
	for _, path := range paths {
		files, err := stageFiles(path)
		if err != nil {
			return nil, badInput{fmt.Errorf("--stages %s: %w", path, err)}
		}
		for _, file := range files {
			manifests, err := readStageFile(file)
			if err != nil {
				return nil, badInput{fmt.Errorf("--stages %s: %w", file, err)}
			}
			for _, m := range manifests {
				if other, taken := names[m.String()]; taken {
					return nil, badInput{fmt.Errorf("--stages %s: %s is also in %s", file, &m, other)}
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
	data, err := readAtMost(opened, kwok.MaxFile)
	if err != nil {
		return nil, err
	}
	return minikcm.ParseStages(data)
}
