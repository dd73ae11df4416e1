import { readDocuments } from '../support/documents.js';
import { isReadme, runDocuments } from './run-documents.js';

runDocuments(readDocuments().filter((document) => !isReadme(document)));
