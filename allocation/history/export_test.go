package history

// Begin begins to write a file into a directory, and returns its temporary name.
func Begin(dir string) (string, error) {
	d, err := OpenDirectory(dir)
	if err != nil {
		return "", err
	}
	f, _, err := d.begin()
	if err != nil {
		return "", err
	}
	return f.Name(), nil
}
