package doctor

// admission is what the API server said of pods with an agent. Only enroll asks it.
func admission(f *Facts) []Finding {
	if f.Live == nil {
		return nil
	}
	return f.Live.Admission
}
