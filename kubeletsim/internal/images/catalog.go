package images

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// builtIn has a profile a file. The first line names the repositories of its images; those with a slash are in any registry.
//
//go:embed catalog/*.yaml
var builtIn embed.FS

// CatalogNone is the text of a catalog without profiles.
const CatalogNone = "none"

// Catalog has profiles of images that many clusters use. They apply to images that no ConfigMap describes. A profile is read when a
// container has its image: a catalog of which nothing is used costs nothing.
type Catalog struct {
	entries []Entry
	// byRepository has the indexes of the entries with exact repositories, patterns the others.
	byRepository map[string]int
	profiles     sync.Map // by index: *profile
	found        sync.Map // by image: *profile, nil if there is none
	count        int
	mu           sync.Mutex
}

// Entry is a profile of a catalog.
type Entry struct {
	// Name is the name of the profile, and Images the references of its images.
	Name   string   `json:"name"`
	Images []string `json:"images"`
	// Data is the profile, as in a ConfigMap.
	Data map[string]string `json:"data,omitempty"`

	file string
}

// NewCatalog returns the built-in catalog for an empty text, one without profiles for CatalogNone, and else the profiles of the
// ConfigMaps in a text of YAML.
func NewCatalog(text string) (*Catalog, error) {
	c := &Catalog{byRepository: map[string]int{}}
	switch text {
	case "":
		return c, c.index()
	case CatalogNone:
		return c, nil
	}
	for number, document := range strings.Split("\n"+text, "\n---") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		if err := c.add(document); err != nil {
			return nil, fmt.Errorf("profile %d of the catalog: %w", number+1, err)
		}
	}
	return c, nil
}

// add reads one ConfigMap.
func (c *Catalog) add(document string) error {
	var m corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(document), &m); err != nil {
		return err
	}
	references := lines(m.Data["image"])
	switch {
	case m.Kind != "ConfigMap":
		return errors.New("it is no ConfigMap")
	case len(references) == 0:
		return errors.New("its key image names no image")
	}
	if bad := Invalid(&m); len(bad) > 0 {
		return errors.New(bad[0].String())
	}
	c.entries = append(c.entries, Entry{Name: m.Name, Images: references, Data: m.Data})
	return nil
}

// imagesLine begins the first line of a built-in profile.
const imagesLine = "# images: "

// index reads the first line of each built-in profile.
func (c *Catalog) index() error {
	files, err := fs.Glob(builtIn, "catalog/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		f, err := builtIn.Open(file)
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(f).ReadString('\n')
		_ = f.Close() // it is in memory
		names, ok := strings.CutPrefix(strings.TrimSpace(line), imagesLine)
		if err != nil || !ok {
			return fmt.Errorf("%s does not begin with %q", file, imagesLine)
		}
		for _, repository := range strings.Fields(names) {
			c.byRepository[qualified(repository)] = len(c.entries)
		}
		c.entries = append(c.entries, Entry{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Images: strings.Fields(names), file: file})
	}
	return nil
}

// Entries returns the profiles, by name.
func (c *Catalog) Entries() ([]Entry, error) {
	all := slices.Clone(c.entries)
	for i := range all {
		data, err := c.data(i)
		if err != nil {
			return nil, err
		}
		all[i].Data = data
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// data returns the data of a profile.
func (c *Catalog) data(index int) (map[string]string, error) {
	e := &c.entries[index]
	if e.file == "" {
		return e.Data, nil
	}
	text, err := fs.ReadFile(builtIn, e.file)
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	if err := yaml.UnmarshalStrict(text, &data); err != nil {
		return nil, fmt.Errorf("%s: %w", e.file, err)
	}
	for _, repository := range e.Images {
		data["image"] += repository + ":*\n" + repository + "@*\n"
		if strings.Contains(repository, "/") {
			data["image"] += "*/" + repository + ":*\n*/" + repository + "@*\n"
		}
	}
	data[keyContent] = contentUnknown
	return data, nil
}

// maxFound caps the images whose profiles are remembered.
const maxFound = 4096

// of returns the profile of a container's image; nil if there is none.
func (c *Catalog) of(image string) *profile {
	if c == nil || len(c.entries) == 0 {
		return nil
	}
	if p, ok := c.found.Load(image); ok {
		return p.(*profile)
	}
	p := c.search(image)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count++; c.count > maxFound {
		c.found.Clear()
		c.count = 1
	}
	c.found.Store(image, p)
	return p
}

func (c *Catalog) search(image string) *profile {
	repository, _ := splitReference(qualified(image))
	i, ok := c.byRepository[repository]
	if _, name, _ := strings.Cut(repository, "/"); !ok && strings.Contains(name, "/") { // the same name in another registry
		i, ok = c.byRepository[defaultRegistry+name]
	}
	if ok {
		return c.profile(i)
	}
	for i := range c.entries {
		if c.entries[i].file != "" {
			continue
		}
		if p := c.profile(i); p != nil && p.isOf(&corev1.Container{Image: image}) {
			return p
		}
	}
	return nil
}

// profile reads a profile once; nil if it cannot be read, which a test excludes.
func (c *Catalog) profile(index int) *profile {
	if p, ok := c.profiles.Load(index); ok {
		return p.(*profile)
	}
	data, err := c.data(index)
	if err != nil {
		return nil
	}
	p := newProfile(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.entries[index].Name}, Data: data})
	kept, _ := c.profiles.LoadOrStore(index, &p)
	return kept.(*profile)
}
