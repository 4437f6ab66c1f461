package pages

// Scan visits the readable items of every leaf page that no bucket reaches: pages behind a
// damaged branch, but also free pages, whose content may be outdated. It returns item's error.
func (f *File) Scan(item func(Item) error) error {
	reached := &walk{file: f, used: make([]uint64, f.meta.end/64+1)}
	reached.visitor = Visitor{Item: func(Item) error { return nil }, Damage: func(Damage) error { return nil }}
	if err := reached.tree(f.meta.root, "", 0, nil, nil, reached.bucket); err != nil {
		return err
	}
	var buf []byte
	for id := uint64(2); id < f.meta.end; id++ {
		if reached.used[id/64]&(1<<(id%64)) != 0 {
			continue
		}
		head, page, err := f.run(id, buf)
		if err != nil || head.flags != flagLeaf {
			continue
		}
		buf = page
		elements, _ := readLeaf(head, page)
		for _, e := range elements {
			if e.flags != 0 {
				continue
			}
			if err := item(Item{Page: id, Key: e.key, Value: e.value}); err != nil {
				return err
			}
		}
	}
	return nil
}
