"""Operations on whole files as functions, with typed reports."""
