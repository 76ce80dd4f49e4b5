package allocation

// class returns the class of a node: its instance type, and whether it is a spot instance.
func (n *Node) class() string {
	if n.Spot {
		return n.InstanceType + " spot"
	}
	return n.InstanceType
}

// EachText calls f with the texts that must be in the dictionary of s before the key is bound to s.
func (k Key) EachText(s *Set, f func(text string)) {
	if k.kind == keyNodeClass {
		for i := range s.Nodes {
			f(s.Nodes[i].class())
		}
	}
}

// nodeClasses returns the class of each row's node, 0 where it is not known. The classes must be in the dictionary.
func (s *Set) nodeClasses() []ID {
	return ofNodes(s, func(n *Node) ID {
		id, _ := s.table.Dict.Find(n.class())
		return id
	})
}

// poolColumn returns the pool of each row's node as an index of texts; 0 is none.
func (s *Set) poolColumn() (ids []ID, texts []string) {
	known := map[string]ID{"": 0}
	texts = []string{""}
	ids = ofNodes(s, func(n *Node) ID {
		id, ok := known[n.Pool]
		if !ok {
			id = ID(len(texts))
			texts, known[n.Pool] = append(texts, n.Pool), id
		}
		return id
	})
	return ids, texts
}

// NodePoolNeeds returns what NodePools looks at.
func NodePoolNeeds() *Projection {
	return &Projection{Properties: []Property{Cluster, NodeName}, FewOfAssets: true}
}

// NodePools returns a function that returns the pool of a row's node, "" where there is none. Of nodes that had one name, the last counts.
// It fails with ErrUnread if an input was not read.
func (s *Set) NodePools() (func(row int) string, error) {
	if err := s.Require(NodePoolNeeds()); err != nil {
		return nil, err
	}
	ids, texts := s.poolColumn()
	return func(row int) string { return texts[ids[row]] }, nil
}

// ofNodes returns a value of each row's node, the zero value where it is not known.
func ofNodes[T any](s *Set, of func(*Node) T) []T {
	type place struct{ cluster, node ID }
	values := make(map[place]T, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		cluster, _ := s.table.Dict.Find(n.Cluster)
		if node, ok := s.table.Dict.Find(n.Name); ok {
			values[place{cluster, node}] = of(n)
		}
	}
	out := make([]T, s.Len())
	for i, node := range s.table.IDs[NodeName] {
		out[i] = values[place{s.table.IDs[Cluster][i], node}]
	}
	return out
}
